"""The tables. No column can hold a word of anyone's text, an address or a token; times of reports are whole minutes."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

VERSION = 1

metadata = MetaData()

number = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by INTEGER PRIMARY KEY only

about = Table("discreet_collector", metadata, Column("version", Integer, nullable=False))

campaigns = Table(
    "campaigns",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("spec", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("ended", Boolean, nullable=False, default=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("digest", LargeBinary(32), nullable=False),
    Column("campaign_id", ForeignKey("campaigns.id"), nullable=True),  # null: an admin token
    Column("label", String(100), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=True),
    Column("revoked", Boolean, nullable=False, default=False),
)

reports = Table(
    "reports",
    metadata,
    Column("id", number, primary_key=True, autoincrement=True),
    Column("campaign_id", ForeignKey("campaigns.id"), nullable=False),
    Column("nonce", LargeBinary(16), nullable=False),
    Column("bits", LargeBinary, nullable=False),
    Column("minute", Integer, nullable=False),
    UniqueConstraint("campaign_id", "nonce"),
    sqlite_autoincrement=True,  # numbers of deleted reports are never given again: windows are ranges of numbers
)

windows = Table(
    "windows",
    metadata,
    Column("campaign_id", ForeignKey("campaigns.id"), primary_key=True),
    Column("window", Integer, primary_key=True),
    Column("after_id", BigInteger, nullable=False),  # the window's reports: after_id < id <= last_id
    Column("last_id", BigInteger, nullable=False),
    Column("n_reports", Integer, nullable=False),
    Column("closed", BigInteger, nullable=False),
    Column("trained", BigInteger, nullable=True),
)

by_number = Index("reports_of_campaign", reports.c.campaign_id, reports.c.id)
