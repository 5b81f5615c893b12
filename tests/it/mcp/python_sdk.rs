//! The official Python SDK as a client.
//!
//! `TEAMKEEP_MCP_PYTHON` is a Python with the package `mcp`, such as `target/tools/bin/python`; without it the test is
//! skipped.

use std::process::Stdio;

use serde_json::Value;

use crate::search::hits;
use crate::store::bundle_sandbox::ended;

const SCRIPT: &str = r#"
import asyncio, json, os, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    server = StdioServerParameters(command=sys.argv[1], args=["mcp"], env=dict(os.environ))
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            tools = [tool.name for tool in (await session.list_tools()).tools]
            answers = {}
            for tool, arguments in [("search", {"query": "needle"}), ("brief", {}), ("log", {}), ("report", {})]:
                result = await session.call_tool(tool, arguments)
                answers[tool] = [content.text for content in result.content]
            print(json.dumps({"tools": tools, "answers": answers}))

asyncio.run(main())
"#;

#[test]
fn the_python_sdk_lists_and_calls_the_tools() {
    let Some(python) = std::env::var_os("TEAMKEEP_MCP_PYTHON") else { return };
    let sandbox = ended("find the needle");
    let own = hits(&sandbox, &["needle"]);
    let mut command = std::process::Command::new(python);
    sandbox.dress(&mut command);
    command.args(["-c", SCRIPT, env!("CARGO_BIN_EXE_teamkeep")]);
    let done = command.stdin(Stdio::null()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let done: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(done["tools"], serde_json::json!(["brief", "list", "log", "report", "search"]));
    for tool in ["search", "brief", "log", "report"] {
        let texts = done["answers"][tool].as_array().unwrap();
        let answer: Value = serde_json::from_str(texts[0].as_str().unwrap()).unwrap();
        assert!(answer["data"].is_object() || answer["data"].is_string(), "{tool}: {answer}");
        if tool == "search" {
            let found = answer["data"]["hits"].as_array().unwrap();
            assert_eq!(found.len(), own.len());
            assert_eq!(found[0]["snippet"], own[0]["snippet"]);
        }
    }
}
