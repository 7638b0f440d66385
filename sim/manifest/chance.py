"""Whether anything in a run is left to chance.

Owns that one question, asked of the model. Draws nothing itself.
"""

from __future__ import annotations

from sim.manifest.distributions import Constant
from sim.manifest.model import Manifest, Stream, TraceReplay
from sim.manifest.processes import Closed
from sim.manifest.providers import TokenService
from sim.manifest.work import Drawn, Work


def is_drawn(manifest: Manifest) -> bool:
    """Return whether the seed has a say in a run; if not, every seed gives the same run.

    A replayed trace brings its arrivals and principals, and with a duration or a time a token its services as well.
    """
    return manifest.seed_family is not None or any(_is_drawn(manifest, stream) for stream in manifest.streams)


def _is_drawn(manifest: Manifest, stream: Stream) -> bool:
    arrivals = stream.arrivals
    if len(stream.providers) > 1 or stream.client.cancel_probability:
        return True
    if isinstance(arrivals, TraceReplay) and not arrivals.reshape.is_drawn:
        told = {key for key, value in arrivals.options.items() if value}
    elif isinstance(arrivals, Closed) and isinstance(arrivals.think, Constant):
        told = set()
    else:
        return True
    providers = [manifest.providers[index] for index, _ in stream.providers]
    are_services_drawn = not told & {"duration_column", "ms_per_token"} and any(
        not isinstance(provider.service, (Constant, TokenService)) for provider in providers
    )
    are_sizes_drawn = "tokens_columns" not in told and not isinstance(stream.tokens, Constant)
    may_fail = any(provider.failure_probability or provider.has_chances for provider in providers)
    is_client_drawn = stream.client.is_drawn
    is_work_drawn = stream.work is not None and _is_work_drawn(stream.work)
    return are_services_drawn or are_sizes_drawn or is_work_drawn or may_fail or is_client_drawn


def _is_work_drawn(work: Work) -> bool:
    laws = [work.prompt_tokens, work.output_tokens, *work.stated.values()]
    if isinstance(work.output_estimate, Drawn):
        laws.append(work.output_estimate.tokens)
    return any(not isinstance(law, Constant) for law in laws if law is not None)
