"""What every store of a service must do; the tests of `autosched.jobs`'s guarantees.

class TestMyStore(ServiceContract):
    @pytest.fixture
    def store(self) -> Iterator[ServiceStore]: ...
"""

from __future__ import annotations

from autosched.testing.queue_contract import LeaseContract, StateContract, SubmitContract
from autosched.testing.race_contract import RaceContract
from autosched.testing.registry_contract import RegistryContract
from autosched.testing.standing_contract import EventContract, FenceContract, StandingContract


class ServiceContract(
    SubmitContract,
    StateContract,
    LeaseContract,
    FenceContract,
    StandingContract,
    EventContract,
    RaceContract,
    RegistryContract,
):
    """The whole suite; subclass it with a `store` fixture."""
