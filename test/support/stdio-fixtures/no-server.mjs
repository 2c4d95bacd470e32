// Programs that are no MCP servers, by name.
const [behaviour] = process.argv.slice(2);
const programs = {
  exits: () => process.exit(7),
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
