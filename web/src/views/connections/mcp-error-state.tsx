import { McpError } from '../../api/mcp.js';
import { Button } from '../../ui/button.js';
import { ErrorState } from '../../ui/states.js';

/** A list of an MCP server that could not be read, with the way to sign in there if that is what is missing. */
export function McpErrorState({ error, onRetry }: { readonly error: Error; readonly onRetry: () => void }) {
  const authorizationUrl = error instanceof McpError ? error.authorizationUrl : undefined;
  return (
    <div className="flex min-w-0 flex-col items-start gap-3">
      <div className="w-full">
        <ErrorState error={error} onRetry={onRetry} />
      </div>
      {authorizationUrl !== undefined && <SignInLink url={authorizationUrl} />}
    </div>
  );
}

/** Opens the page on which a person signs in at the upstream of a connection. */
export function SignInLink({ url }: { readonly url: string }) {
  return (
    <Button asChild>
      <a href={url} target="_blank" rel="noopener">
        Sign in at the upstream
      </a>
    </Button>
  );
}
