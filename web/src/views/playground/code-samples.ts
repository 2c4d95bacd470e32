import type { RunOptions } from './run-options.js';

/** What the samples do: post this message to an agent. */
export interface SampleInput {
  /** The origin of the service. */
  readonly url: string;
  readonly org: string;
  readonly agentId: string;
  /** Undefined for samples that create a thread first. */
  readonly threadId?: string | undefined;
  readonly text: string;
  readonly options: RunOptions;
}

/** Shell commands that post the message and stream the answer. The key comes from `$API_KEY`. */
export function curlSample(input: SampleInput): string {
  const { url, org, agentId, threadId, text, options } = input;
  const api = `${url}/api/${org}`;
  const body = JSON.stringify({
    messages: [{ role: 'user', parts: [{ type: 'text', text }] }],
    agent: { id: agentId },
    ...optionsOf(options),
  });
  const create = [
    `THREAD=$(curl -sS '${api}/tools/COLLECTION_THREADS_CREATE' \\`,
    `  -H "authorization: Bearer $API_KEY" -H 'content-type: application/json' \\`,
    `  -d ${quoted(JSON.stringify({ data: { title: 'From curl', virtual_mcp_id: agentId } }))} | jq -r .item.id)`,
    '',
  ];
  const thread = threadId === undefined ? '\'"$THREAD"\'' : encodeURIComponent(threadId);
  return [
    ...(threadId === undefined ? create : []),
    `curl -sSN '${api}/agent-runtime/threads/${thread}/messages' \\`,
    `  -H "authorization: Bearer $API_KEY" -H 'content-type: application/json' \\`,
    `  -H 'accept: text/event-stream' \\`,
    `  -d ${quoted(body)}`,
  ].join('\n');
}

/** TypeScript with the package `@signalbox/client`. */
export function typescriptSample({ url, org, agentId, threadId, text, options }: SampleInput): string {
  const create = [
    `const { item } = await signalbox.tool('COLLECTION_THREADS_CREATE', {`,
    `  data: { title: 'From TypeScript', virtual_mcp_id: ${JSON.stringify(agentId)} },`,
    '});',
  ];
  return [
    `import { Signalbox } from '@signalbox/client';`,
    '',
    `const signalbox = new Signalbox({ url: ${JSON.stringify(url)}, org: ${JSON.stringify(org)}, apiKey: ` +
      'process.env.API_KEY });',
    ...(threadId === undefined ? create : []),
    `const answer = await signalbox.stream(${threadId === undefined ? 'item.id' : JSON.stringify(threadId)}, {`,
    `  agentId: ${JSON.stringify(agentId)},`,
    `  text: ${JSON.stringify(text)},`,
    ...Object.entries(optionsOf(options)).map(([name, value]) => `  ${name}: ${JSON.stringify(value)},`),
    '});',
    'for await (const chunk of answer) {',
    `  if (chunk.type === 'text-delta') process.stdout.write(chunk.delta);`,
    '}',
  ].join('\n');
}

/** Python with nothing but its standard library: waits for the answer up to a minute. */
export function pythonSample({ url, org, agentId, threadId, text, options }: SampleInput): string {
  const request = {
    messages: [{ role: 'user', parts: [{ type: 'text', text }] }],
    agent: { id: agentId },
    ...optionsOf(options),
  };
  const create = [
    'thread = call("tools/COLLECTION_THREADS_CREATE",',
    `              {"data": {"title": "From Python", "virtual_mcp_id": ${JSON.stringify(agentId)}}})["item"]["id"]`,
  ];
  return [
    'import json, os, urllib.request',
    '',
    `API = ${JSON.stringify(`${url}/api/${org}`)}`,
    '',
    'def call(path, body, **headers):',
    '    request = urllib.request.Request(f"{API}/{path}", json.dumps(body).encode(), {',
    '        "authorization": f"Bearer {os.environ[\'API_KEY\']}", "content-type": "application/json", **headers})',
    '    with urllib.request.urlopen(request) as response:',
    '        return json.load(response)',
    '',
    ...(threadId === undefined ? create : [`thread = ${JSON.stringify(threadId)}`]),
    `answer = call(f"agent-runtime/threads/{thread}/messages", ${JSON.stringify(request)}, prefer="wait=60")`,
    'for part in (answer.get("message") or {"parts": []})["parts"]:',
    '    if part["type"] == "text":',
    '        print(part["text"])',
  ].join('\n');
}

function optionsOf({ tier, temperature }: RunOptions): RunOptions {
  return { ...(tier && { tier }), ...(temperature !== undefined && { temperature }) };
}

/** A word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
