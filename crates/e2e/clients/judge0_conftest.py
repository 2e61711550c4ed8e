"""The fixture file that the source distribution of Judge0's client lacks: every client its tests name, all of them of one
service. The classes for Judge0's hosted services have their addresses as attributes; these are pointed here, and nothing else
of the client is touched."""

import os

import pytest
from judge0 import clients

CE = os.environ["JUDGE0_CE_ENDPOINT"]
EXTRA = os.environ["JUDGE0_EXTRA_CE_ENDPOINT"]
KEY = "not looked at"


def fixture(make):
    return pytest.fixture(scope="session")(make)


def hosted(kind, endpoint):
    def make():
        kind.DEFAULT_ENDPOINT = endpoint
        return kind(KEY)

    return fixture(make)


def cloud(kind, endpoint):
    def make():
        kind.DEFAULT_ENDPOINT = endpoint
        return kind({})

    return fixture(make)


ce_client = fixture(lambda: clients.Client(CE, {}))
extra_ce_client = fixture(lambda: clients.Client(EXTRA, {}))
atd_ce_client = hosted(clients.ATDJudge0CE, CE)
atd_extra_ce_client = hosted(clients.ATDJudge0ExtraCE, EXTRA)
rapid_ce_client = hosted(clients.RapidJudge0CE, CE)
rapid_extra_ce_client = hosted(clients.RapidJudge0ExtraCE, EXTRA)
judge0_cloud_ce_client = cloud(clients.Judge0CloudCE, CE)
judge0_cloud_extra_ce_client = cloud(clients.Judge0CloudExtraCE, EXTRA)
