from agents.models.agent import Agent
from agents.models.agent_tool import AgentTool
from agents.models.api_token import ApiToken
from agents.models.approval_rule import ApprovalRule
from agents.models.credential import Credential
from agents.models.experiment import Arm, ArmTool, Experiment
from agents.models.model_usage import ModelUsage
from agents.models.oauth_client import OAuthClient
from agents.models.search_case import ExpectedTool, SearchCase, SearchEvaluation

__all__ = [
    "Agent",
    "AgentTool",
    "ApiToken",
    "ApprovalRule",
    "Arm",
    "ArmTool",
    "Credential",
    "ExpectedTool",
    "Experiment",
    "ModelUsage",
    "OAuthClient",
    "SearchCase",
    "SearchEvaluation",
]
