"""Providers of models with keys of one's own (API 3, RT 11.1). The stable SDK has no methods for these routes;
older ones do.
"""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done(
        "providers.create",
        "API 3",
        "Creates a provider with the tenant's own key; `provider_category` is `byok`, and no reply has the key.",
        "POST /v1/providers/",
    ),
    done(
        "providers.create.refused",
        "RT 11.1",
        "A name of the deployment's own provider is 400, one that is taken 409, an unknown type 422; nothing is stored.",
    ),
    done("providers.list", "API 3", "Lists providers, newest first, with filters by name and type.", "GET /v1/providers/"),
    diverging(
        "providers.list.base",
        "API 3",
        "The deployment's own providers are not in the list; GET /v1/models/ shows their models.",
        "V1 lists them after those of the organization. Here they are settings of the deployment, and have no ids.",
    ),
    diverging(
        "providers.handle_base",
        "RT 11.1",
        "`VLLM_HANDLE_BASE`, `SGLANG_HANDLE_BASE` and `OPENROUTER_HANDLE_BASE` give a further first part of handles. Replies have the provider's own.",
        "V1's lists have the first part that is set, and the provider's own is unknown there. Here both are found, so that agents keep their model if the variable "
        "is dropped.",
    ),
    done("providers.retrieve", "API 3", "Returns a provider.", "GET /v1/providers/{provider_id}"),
    done(
        "providers.update",
        "API 3",
        "Replaces the key, and the address if present; `api_key` is required. The next message uses them.",
        "PATCH /v1/providers/{provider_id}",
    ),
    done(
        "providers.delete",
        "API 3",
        "Deletes a provider with its key, and returns `message`. An agent's next message fails with the provider's "
        "name, and is kept.",
        "DELETE /v1/providers/{provider_id}",
    ),
    done(
        "providers.check",
        "API 3",
        "Checks a key without storing it: `message`, or the provider's error.",
        "POST /v1/providers/check",
    ),
    done("providers.check_one", "API 3", "Checks the stored key of a provider.", "POST /v1/providers/{provider_id}/check"),
    done(
        "providers.refresh",
        "API 3",
        "Lists a provider's models again and sets `last_synced`.",
        "PATCH /v1/providers/{provider_id}/refresh",
    ),
    done(
        "providers.models",
        "RT 11.1",
        "Its models have the handles `<name>/<model>`, are listed with the category `byok`, and are called with its "
        "key; steps name the provider.",
    ),
    done(
        "providers.embeddings",
        "API 2.13, RT 11.1",
        "Its embedding models have the handles `<name>/<model>`, are in `GET /v1/models/embedding`, and embed the memory of agents, archives and "
        "folders with its key.",
    ),
    done(
        "providers.clouds",
        "API 3, RT 11.1",
        "The types `bedrock` (`region`, `access_key` with its secret in `api_key`, or a Bedrock API key alone) and `google_vertex` (`region`, and a "
        "service account as JSON in `api_key`) are added, checked, refreshed and used like all others.",
    ),
)
