/**
 * The name of the tool that stands for the tools of upstreams where a person has to sign in first, and the key of input
 * requests for it.
 */
export const SIGN_IN = 'sign_in';

/** The answer of the stand-in when it is called after the sign-in. */
export const NO_SIGN_IN_NEEDED = 'Nobody has to sign in any more. List the tools again.';

/** The definition of the stand-in. @param hindrance who has to sign in where, with the link, in sentences */
export function signInTool(hindrance: string): object {
  const description = `${hindrance} Until then, the tools cannot be listed. List them again after that.`;
  return { name: SIGN_IN, title: 'Sign in', description, inputSchema: { type: 'object', properties: {} } };
}
