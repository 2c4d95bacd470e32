import { createMCPClient } from '@ai-sdk/mcp';

const { url, key, tool, args, prompt, resource } = JSON.parse(process.env.FIELD_TASK);
const headers = { authorization: `Bearer ${key}` };
const client = await createMCPClient({ transport: { type: 'http', url, headers } });
const tools = await client.tools();
const call = { toolCallId: 'call', messages: [] };
const findings = { tools: Object.keys(tools), result: await tools[tool].execute(args, call) };
if (prompt) findings.prompt = await client.getPrompt({ name: prompt.name, arguments: prompt.args });
if (resource) findings.resource = await client.readResource({ uri: resource.uri });
await client.close();
console.log(JSON.stringify(findings));
