import { Agent, MCPServerStreamableHttp, OpenAIProvider, run, setTracingDisabled } from '@openai/agents';

const { url, key, model, MODEL_KEY, resource } = JSON.parse(process.env.FIELD_TASK);
setTracingDisabled(true);
const requestInit = { headers: { authorization: `Bearer ${key}` } };
const server = new MCPServerStreamableHttp({ name: 'field', url, requestInit });
await server.connect();
const provider = new OpenAIProvider({ apiKey: MODEL_KEY, baseURL: model });
const agent = new Agent({ name: 'field', model: await provider.getModel('scripted'), mcpServers: [server] });
const result = await run(agent, 'Call the tool.', { stream: true });
await result.completed;
const findings = { answer: result.finalOutput };
if (resource) findings.resource = await server.readResource(resource.uri);
await server.close();
console.log(JSON.stringify(findings));
