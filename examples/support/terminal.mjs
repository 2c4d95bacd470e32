/** Prints one step of the story: what it is, and what came out of it. */
export function tell(subject, outcome) {
  process.stdout.write(`  ${subject.padEnd(12)}${outcome}\n`);
}

export function heading(text) {
  process.stdout.write(`\n${text}\n`);
}

/** Shows one chunk of the answer the moment it arrives: text as it grows, a tool call and its outcome as a line each. */
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
      // Chunk types that are not for the eye: start, step borders, finish, and those of later versions.
      return undefined;
  }
}

/** A stored message in one line. Tool parts have the type `dynamic-tool`. */
export function summarize({ role, parts }) {
  const pieces = parts.map((part) => {
    if (part.type === 'text') return part.text.replaceAll('\n', ' | ');
    if (part.type === 'dynamic-tool') return `[${part.toolName}: ${part.state}]`;
    return '';
  });
  return `${role}: ${pieces.filter((piece) => piece !== '').join(' ')}`;
}

/** The text blocks of an MCP tool result. */
function textOf({ content }) {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

function indent(text) {
  return text.replaceAll('\n', '\n    ');
}
