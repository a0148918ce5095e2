"""LiteLLM's custom_auth hook. Without a database LiteLLM answers 400 to every key but its master key; a hook that raises
makes it answer 401, as LiteLLM with a database does."""

import os

from litellm.proxy._types import UserAPIKeyAuth


async def check(request, api_key: str) -> UserAPIKeyAuth:
    if api_key != os.environ["LITELLM_MASTER_KEY"]:
        raise ValueError("unknown key")
    return UserAPIKeyAuth(api_key=api_key)
