# ruff: noqa
"""The weather example of the original design, word for word."""

# /// script
# dependencies = ["httpx"]
# ///
import asyncio
import httpx
from typing import Optional, Dict, Any
from google.genai import types as adk_types
from solace_agent_mesh.agent.tools.dynamic_tool import DynamicTool


class WeatherTool(DynamicTool):
    """
    A dynamic tool that fetches current weather information for a given location.
    """

    @property
    def tool_name(self) -> str:
        return "get_current_weather"

    @property
    def tool_description(self) -> str:
        return "Get the current weather information for a specified location using a weather API."

    @property
    def parameters_schema(self) -> adk_types.Schema:
        return adk_types.Schema(
            type=adk_types.Type.OBJECT,
            properties={
                "location": adk_types.Schema(
                    type=adk_types.Type.STRING,
                    description="The city and state/country for which to get weather information (e.g., 'San Francisco, CA' or 'London, UK')",
                ),
                "units": adk_types.Schema(
                    type=adk_types.Type.STRING,
                    description="Temperature units to use",
                    enum=["celsius", "fahrenheit", "kelvin"],
                    nullable=True,
                ),
                "include_forecast": adk_types.Schema(
                    type=adk_types.Type.BOOLEAN,
                    description="Whether to include a 3-day forecast in addition to current conditions",
                    nullable=True,
                ),
            },
            required=["location"],
        )

    async def _run_async_impl(
        self, args: Dict[str, Any], tool_context, credential: Optional[str] = None
    ) -> Dict[str, Any]:
        """
        Fetch weather data from the configured weather API.
        """
        location = args["location"]
        units = args.get("units", "celsius")
        include_forecast = args.get("include_forecast", False)

        api_key = self.tool_config.get("api_key")
        timeout = self.tool_config.get("timeout", 30)

        if not api_key:
            return {"status": "error", "message": "Weather API key not configured"}

        try:
            async with httpx.AsyncClient(timeout=timeout) as client:
                # Example API call (adjust for your weather service)
                response = await client.get(
                    "https://api.weather.com/v1/current",
                    params={
                        "location": location,
                        "units": units,
                        "forecast": include_forecast,
                        "key": api_key,
                    },
                )
                response.raise_for_status()
                weather_data = response.json()

                return {
                    "status": "success",
                    "location": location,
                    "current_weather": weather_data.get("current", {}),
                    "forecast": weather_data.get("forecast", []) if include_forecast else None,
                    "units": units,
                }

        except httpx.TimeoutException:
            return {
                "status": "error",
                "message": f"Weather API request timed out after {timeout} seconds",
            }
        except httpx.HTTPStatusError as e:
            return {
                "status": "error",
                "message": f"Weather API returned error: {e.response.status_code}",
            }
        except Exception as e:
            return {
                "status": "error",
                "message": f"Unexpected error fetching weather data: {str(e)}",
            }
