import type { AppConfig } from '../core/config/app-config.js';
import { CONSOLE_PATH } from '../platform/pages/home.controller.js';

/** What a start prints once. */
interface FirstStart {
  /** The value of the key that this start generated. */
  readonly newKey: string | undefined;
  readonly setupPath: string | undefined;
}

/**
 * The text that the service prints when it is listening: its URL, the console, a newly created key, the setup page
 * while there is no owner, and three commands to try. All commands can be pasted into a shell.
 */
export function announcement(config: AppConfig, { newKey, setupPath }: FirstStart): string {
  const { baseUrl, settings, servesConsole } = config;
  const api = `${baseUrl}/api/${settings.bootstrapOrg}`;
  const headers = `-H "authorization: Bearer $API_KEY" -H 'content-type: application/json'`;
  const post = (path: string, body: string): string => `curl -s ${api}/${path} ${headers} -d ${body}`;
  const known =
    settings.bootstrapApiKey === undefined
      ? 'the API key that the first start printed'
      : 'the key in BOOTSTRAP_API_KEY';
  const key =
    newKey === undefined
      ? [`Use ${known}: export API_KEY=sbx_…`]
      : ['Your API key, which is not shown again:', '', `  export API_KEY=${newKey}`];
  return [
    '',
    `Signalbox listens on ${baseUrl}`,
    '',
    ...(servesConsole ? ['Open the console:', '', `  ${baseUrl}${CONSOLE_PATH}`, ''] : []),
    ...key,
    '',
    ...(setupPath === undefined
      ? []
      : ['Create the account of the owner on this page:', '', `  ${baseUrl}${setupPath}`, '']),
    `Three commands to try: create an agent, create a thread, and stream the answer to a message (reference: ${baseUrl}/docs).`,
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
