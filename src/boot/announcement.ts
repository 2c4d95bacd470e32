/**
 * What the terminal shows when the service listens: where it is, the key if one was just made, and three commands that
 * go through the main job. Everything can be pasted into a shell.
 */
export function announcement(baseUrl: string, org: string, newKey: string | undefined): string {
  const api = `${baseUrl}/api/${org}`;
  const headers = `-H "authorization: Bearer $API_KEY" -H 'content-type: application/json'`;
  const post = (path: string, body: string): string => `curl -s ${api}/${path} ${headers} -d ${body}`;
  const key =
    newKey === undefined
      ? ['Use the API key that the first start printed: export API_KEY=sbx_…']
      : ['Your API key. It is shown only now:', '', `  export API_KEY=${newKey}`];
  return [
    '',
    `Signalbox listens on ${baseUrl}   (reference: ${baseUrl}/docs)`,
    '',
    ...key,
    '',
    'Three commands to try: make an agent, make a thread, then watch the answer to a message.',
    '',
    `  AGENT=$(${post('tools/COLLECTION_VIRTUAL_MCP_CREATE', `'{"data":{"title":"Hello"}}'`)} | grep -o '"id":"[^"]*' | head -1 | cut -c7-)`,
    '',
    `  ${post('tools/COLLECTION_THREADS_CREATE', `"{\\"data\\":{\\"id\\":\\"hello\\",\\"title\\":\\"Hello\\",\\"virtual_mcp_id\\":\\"$AGENT\\"}}"`)}`,
    '',
    `  (sleep 1; ${post('agent-runtime/threads/hello/messages', `"{\\"messages\\":[{\\"role\\":\\"user\\",\\"parts\\":[{\\"type\\":\\"text\\",\\"text\\":\\"Hello there\\"}]}],\\"agent\\":{\\"id\\":\\"$AGENT\\"}}"`)} >/dev/null) & curl -sN ${api}/agent-runtime/threads/hello/stream -H "authorization: Bearer $API_KEY"`,
    '',
    '',
  ].join('\n');
}
