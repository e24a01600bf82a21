"""Topic models of reports that were randomised before they left a device: the server is not trusted."""
