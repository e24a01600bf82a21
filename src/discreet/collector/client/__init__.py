"""What runs on the sender's device: randomise, remember, send. For browsers: ``service/web/client.js``."""
