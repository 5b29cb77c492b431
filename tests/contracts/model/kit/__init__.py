"""The conformance kit: servers that enforce the providers' documented rules, and scenarios that run on all of them.

A careless request, and what shows that ours is none (a rule of a server, a scenario, or a test beside the kit):

| a careless request | shown by |
|---|---|
| function tools while a model of OpenAI reasons, by Chat Completions; an effort or a model that is gone | rules
`tools_without_reasoning`, `efforts_of_the_model`, `known_model`; `test_openai` | | thinking of Claude behind a changed prompt |
rule `bound_thinking`; scenarios `memory_edits`, `narrowing_rule`, `compaction` | | blocks of a reply in another order | rule
`latest_thinking_is_untouched`; scenario `interleaved_thinking` | | a version of an API that moves with an SDK | rules
`known_version`, `no_sampling_in_the_new_version` | | reasoning that does not go back, or goes where it is refused | rules
`deepseek_thoughts_come_back`, `kimi_thoughts_come_back`, `gemini_signatures_come_back`, `mistral_knows_all_members` | | a list of
models with "instruct" in their names, or without an object around it | scenario `listed_models`; `test_dialects` | | a forced
tool while a model thinks; reasoning that was switched off | rules `no_forced_tool`, `deepseek_forces_no_tool`,
`kimi_forces_no_tool`; scenarios `forced_tool`, `reasoning_off` | | a prompt beyond the window that Ollama reads | scenario
`window`; `test_ollama` | | "too long" in words that nobody knows | scenario `overflow`; `test_refusals` | | streams with other
indices, ids and usages | `chat_server.Traits`; `test_chat_streams` | | strict tools whose schema is not closed | rule
`strict_schemas_are_closed`; scenario `strict_schemas`; `test_strict_schemas` | | members that a server or a model does not take;
another model's thinking; an image in an error; too many tools | rules `…_knows_all_members`, `xai_effort_of_some_models`,
`errors_are_text`, `at_most_128_tools`; scenarios `fallback`, `image_in_a_return`, `many_tools` | | a system message behind others
| rules `qwen_system_stands_first`, `minimax_one_system_message`; scenario `system_message` |
"""
