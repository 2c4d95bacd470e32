/** Prints one step and its result. */
export function tell(subject, outcome) {
  process.stdout.write(`  ${subject.padEnd(12)}${outcome}\n`);
}

export function heading(text) {
  process.stdout.write(`\n${text}\n`);
}

/** Prints one chunk of the answer: text as it grows, and a line for each tool call and each result. */
export function showChunk(chunk) {
  switch (chunk.type) {
    case 'text-start':
      return process.stdout.write('  < ');
    case 'text-delta':
      return process.stdout.write(indent(chunk.delta));
    case 'text-end':
      return process.stdout.write('\n');
    case 'tool-input-available':
      return process.stdout.write(`  * ${chunk.toolName} ${JSON.stringify(chunk.input)}\n`);
    case 'tool-output-available':
      return process.stdout.write(`    -> ${textOf(chunk.output)}\n`);
    case 'tool-output-error':
    case 'error':
      return process.stdout.write(`  ! ${chunk.errorText}\n`);
    default:
      // Other chunk types need no output: start, step boundaries, finish, and types of later versions.
      return undefined;
  }
}

/** Formats a stored message in one line. Tool parts have the type `dynamic-tool`. */
export function summarize({ role, parts }) {
  const pieces = parts.map((part) => {
    if (part.type === 'text') return part.text.replaceAll('\n', ' | ');
    if (part.type === 'dynamic-tool') return `[${part.toolName}: ${part.state}]`;
    return '';
  });
  return `${role}: ${pieces.filter((piece) => piece !== '').join(' ')}`;
}

/** Joins the text blocks of an MCP tool result. */
function textOf({ content }) {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

function indent(text) {
  return text.replaceAll('\n', '\n    ');
}
