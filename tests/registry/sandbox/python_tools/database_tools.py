# ruff: noqa
"""The database example of the original design, word for word."""

# /// script
# dependencies = ["asyncpg"]
# ///
from typing import Optional, Dict, Any, List
from google.genai import types as adk_types
from solace_agent_mesh.agent.tools.dynamic_tool import DynamicTool
import asyncpg


class DatabaseQueryTool(DynamicTool):
    """
    Dynamic tool for executing read-only database queries.
    """

    @property
    def tool_name(self) -> str:
        return "execute_database_query"

    @property
    def tool_description(self) -> str:
        return "Execute a read-only SQL query against the configured database and return results."

    @property
    def parameters_schema(self) -> adk_types.Schema:
        return adk_types.Schema(
            type=adk_types.Type.OBJECT,
            properties={
                "query": adk_types.Schema(
                    type=adk_types.Type.STRING,
                    description="The SQL SELECT query to execute (must be read-only)",
                ),
                "limit": adk_types.Schema(
                    type=adk_types.Type.INTEGER,
                    description="Maximum number of rows to return",
                    minimum=1,
                    maximum=1000,
                    nullable=True,
                ),
            },
            required=["query"],
        )

    async def _run_async_impl(
        self, args: Dict[str, Any], tool_context, credential: Optional[str] = None
    ) -> Dict[str, Any]:
        query = args["query"].strip()
        limit = args.get("limit", self.tool_config.get("max_rows", 100))

        # Security: Ensure query is read-only
        if not query.upper().startswith("SELECT"):
            return {"status": "error", "message": "Only SELECT queries are allowed"}

        connection_string = self.tool_config.get("connection_string")
        if not connection_string:
            return {"status": "error", "message": "Database connection not configured"}

        try:
            conn = await asyncpg.connect(connection_string)

            # Add LIMIT if not present
            if "LIMIT" not in query.upper():
                query = f"{query} LIMIT {limit}"

            rows = await conn.fetch(query)
            await conn.close()

            # Convert rows to dictionaries
            results = [dict(row) for row in rows]

            return {
                "status": "success",
                "rows_returned": len(results),
                "data": results,
                "query_executed": query,
            }

        except Exception as e:
            return {"status": "error", "message": f"Database query failed: {str(e)}"}


class DatabaseSchemaTool(DynamicTool):
    """
    Dynamic tool for exploring database schema information.
    """

    @property
    def tool_name(self) -> str:
        return "get_database_schema"

    @property
    def tool_description(self) -> str:
        return "Get schema information about database tables and columns."

    @property
    def parameters_schema(self) -> adk_types.Schema:
        return adk_types.Schema(
            type=adk_types.Type.OBJECT,
            properties={
                "table_name": adk_types.Schema(
                    type=adk_types.Type.STRING,
                    description="Specific table name to get schema for (optional - if not provided, returns all tables)",
                    nullable=True,
                ),
                "include_sample_data": adk_types.Schema(
                    type=adk_types.Type.BOOLEAN,
                    description="Whether to include a few sample rows from each table",
                    nullable=True,
                ),
            },
            required=[],
        )

    async def _run_async_impl(
        self, args: Dict[str, Any], tool_context, credential: Optional[str] = None
    ) -> Dict[str, Any]:
        table_name = args.get("table_name")
        include_sample = args.get("include_sample_data", False)

        connection_string = self.tool_config.get("connection_string")
        if not connection_string:
            return {"status": "error", "message": "Database connection not configured"}

        try:
            conn = await asyncpg.connect(connection_string)

            # Get table schema information
            if table_name:
                schema_query = """
                    SELECT column_name, data_type, is_nullable, column_default
                    FROM information_schema.columns 
                    WHERE table_name = $1
                    ORDER BY ordinal_position
                """
                schema_rows = await conn.fetch(schema_query, table_name)
                tables_info = {table_name: [dict(row) for row in schema_rows]}
            else:
                # Get all tables
                tables_query = """
                    SELECT table_name 
                    FROM information_schema.tables 
                    WHERE table_schema = 'public'
                    ORDER BY table_name
                """
                tables = await conn.fetch(tables_query)
                tables_info = {}

                for table_row in tables:
                    table = table_row["table_name"]
                    schema_query = """
                        SELECT column_name, data_type, is_nullable, column_default
                        FROM information_schema.columns 
                        WHERE table_name = $1
                        ORDER BY ordinal_position
                    """
                    schema_rows = await conn.fetch(schema_query, table)
                    tables_info[table] = [dict(row) for row in schema_rows]

            # Optionally include sample data
            sample_data = {}
            if include_sample and tables_info:
                for table in tables_info.keys():
                    try:
                        sample_rows = await conn.fetch(f"SELECT * FROM {table} LIMIT 3")
                        sample_data[table] = [dict(row) for row in sample_rows]
                    except Exception:
                        sample_data[table] = "Unable to fetch sample data"

            await conn.close()

            result = {"status": "success", "schema": tables_info}

            if include_sample:
                result["sample_data"] = sample_data

            return result

        except Exception as e:
            return {"status": "error", "message": f"Schema query failed: {str(e)}"}
