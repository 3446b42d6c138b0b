"""Skills of repositories, through the published client."""

from __future__ import annotations

import pytest
from oz_agent_sdk import NotFoundError
from support import client, ended, output, stream

SKILL = "acme/tools:greet"


def test_x8_a_run_with_a_skill_takes_its_name_and_fills_its_arguments() -> None:
    run_id = client().agent.run(skill=SKILL, prompt="Ada").run_id
    ended(run_id)
    assert output(list(stream(run_id))) == "hello Ada\n"
    run = client().agent.runs.retrieve(run_id)
    assert run.agent_config is not None and run.agent_config.name == "greet" and run.agent_config.skill_spec == SKILL
    assert run.agent_skill is not None and run.agent_skill.full_path == ".agents/skills/greet/SKILL.md"
    assert run_id in [found.run_id for found in client().agent.runs.list(skill=SKILL)]


def test_x8_a_skill_that_does_not_exist_is_not_found() -> None:
    with pytest.raises(NotFoundError) as refused:
        client().agent.run(skill="acme/tools:gret", prompt="x")
    assert "it has greet" in str(refused.value.body)


def test_f8_skills_are_listed() -> None:
    agents = client(_strict_response_validation=True).agent.list(repo="acme/tools", sort_by="last_run").agents
    assert [agent.name for agent in agents] == ["greet"]
    variant = agents[0].variants[0]
    assert variant.id == "acme/tools:.agents/skills/greet/SKILL.md"
    assert variant.source.owner == "acme" and variant.source.skill_path == ".agents/skills/greet/SKILL.md"
    assert variant.base_prompt.startswith("```sh") and variant.environments == []
