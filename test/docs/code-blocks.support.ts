import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { marked, type Token } from 'marked';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A block of code in a page of the documentation. */
export interface CodeBlock {
  readonly page: string;
  /** As in the fence; empty for an indented block. */
  readonly language: string;
  readonly code: string;
}

/** Every page of the documentation site, in order. */
export async function allPages(): Promise<string[]> {
  const navigation: { pages: string[] }[] = JSON.parse(await readFile(join(ROOT, 'docs/navigation.json'), 'utf8'));
  return navigation.flatMap((section) => section.pages).flatMap((pattern) => globSync(pattern, { cwd: ROOT }));
}

/** The blocks of every page, in order. */
export async function allCodeBlocks(): Promise<CodeBlock[]> {
  return (await Promise.all((await allPages()).map(codeBlocksOf))).flat();
}

/** The blocks of one page, in order, also those in lists. */
export async function codeBlocksOf(page: string): Promise<CodeBlock[]> {
  const blocks: CodeBlock[] = [];
  marked.walkTokens(marked.lexer(await readFile(join(ROOT, page), 'utf8')), (token: Token) => {
    if (token.type === 'code') blocks.push({ page, language: token.lang ?? '', code: token.text });
  });
  return blocks;
}
