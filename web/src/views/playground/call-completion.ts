/** A line that calls a tool, up to the caret: `/`, `/ca`, `/call ec`. */
const CALL = /^\/(?:c(?:a(?:l(?:l(?:[ \t]+(\S*))?)?)?)?)?$/;
/** A name that a directive can hold, and that is shown as it is: no spaces, and nothing that turns text around. */
const PLAIN = /^[\p{L}\p{N}\p{P}\p{S}]+$/u;

/**
 * The tools that the call before the caret can mean, those that begin like it first; none if nothing is to be added.
 */
export function toolsAt(text: string, caret: number, tools: readonly string[]): readonly string[] {
  const call = CALL.exec(text.slice(lineStart(text, caret), caret));
  if (call === null) return [];
  const word = (call[1] ?? '').toLowerCase();
  const found = tools.filter((tool) => PLAIN.test(tool) && tool.toLowerCase().includes(word));
  if (found.length === 1 && found[0]?.toLowerCase() === word) return [];
  const { begins = [], others = [] } = Object.groupBy(found, (tool) =>
    tool.toLowerCase().startsWith(word) ? 'begins' : 'others',
  );
  return [...begins, ...others];
}

/** The text with the call of this tool before the caret. Without arguments behind it, the caret is where they begin. */
export function withCall(text: string, caret: number, tool: string): { readonly text: string; readonly caret: number } {
  const before = text.slice(0, lineStart(text, caret));
  const after = text.slice(caret).replace(/^\S*/, '');
  const hasArguments = !/^[ \t]*(?:\n|$)/.test(after);
  const head = `${before}/call ${tool}${hasArguments ? '' : ' {'}`;
  return { text: `${head}${hasArguments ? '' : '}'}${after}`, caret: head.length };
}

function lineStart(text: string, caret: number): number {
  return text.slice(0, caret).lastIndexOf('\n') + 1;
}
