/**
 * The command that the conformance suite runs as the client:
 * `node client-driver.mjs <address of the test> <URL of the server>`. The client is the service of the test, so the
 * command only passes on what the suite says. It fails if the client fails.
 */
const [address, url] = process.argv.slice(2);
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const answer = await fetch(address, { method: 'POST', body: JSON.stringify({ scenario, url, context }) });
if (!answer.ok) {
  console.error(await answer.text());
  process.exitCode = 1;
}
