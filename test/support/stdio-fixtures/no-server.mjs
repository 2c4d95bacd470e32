// Programs that are no MCP servers, by name.
const [behaviour] = process.argv.slice(2);
const programs = {
  exits: () => process.exit(7),
  // Explain themselves on standard error, with a secret.
  complains: () => {
    for (let n = 1; n <= 9; n++) console.error(`line ${n}`);
    console.error(`\u001b[31mCannot use ${process.env.SERVICE_KEY}\u001b[0m at https://me:hunter2@host`);
    process.exitCode = 9;
  },
  installs: () => {
    console.error(`Installing with ${process.env.SERVICE_KEY}`);
    process.stdin.resume();
  },
  // Reads all of its input and says nothing.
  silent: () => process.stdin.resume(),
  // One line that never ends.
  endless: () => {
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    const more = () => process.stdout.write(chunk, more);
    more();
  },
  // Does not read its input.
  deaf: () => setInterval(() => undefined, 1000),
  // Answers every line with a line that is not JSON-RPC.
  babbles: () => process.stdin.on('data', () => process.stdout.write('null\n"text"\n{}\n<html>\n')),
};
programs[behaviour]();
