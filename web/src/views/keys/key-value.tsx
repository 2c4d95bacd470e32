import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { CodeBlock } from '../../ui/code-block.js';
import { CopyButton } from '../../ui/copy-button.js';
import { Facts } from '../../ui/page.js';
import { Time } from '../../ui/time.js';

/** The value of a key that was just made. The service does not show it again. */
export function KeyValue({
  created,
  onDone,
}: {
  readonly created: ToolOutput<'API_KEY_CREATE'>;
  readonly onDone: () => void;
}) {
  const { url, slug } = useOrganization();
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <p role="status">
        The key “{created.name}” exists. <strong>Copy its value now:</strong> nobody can see it again, not even here.
      </p>
      <div className="flex flex-wrap items-center gap-2 rounded-md border border-success/50 bg-success/8 p-3">
        <code aria-label="Value of the key" className="min-w-0 flex-1 font-mono text-sm break-all">
          {created.key}
        </code>
        <CopyButton text={created.key} />
      </div>
      <Facts items={[['Expires', <Time key="expiry" value={created.expires_at} />]]} />
      <p className="text-sm text-muted-foreground">
        Programs send it with every request. This asks which management tools the key can call:
      </p>
      <CodeBlock
        label="Try the key"
        text={`export API_KEY=${created.key}\ncurl ${url}/api/${slug}/tools -H "Authorization: Bearer $API_KEY"`}
      />
      <div className="flex justify-end">
        <Button onClick={onDone}>Done</Button>
      </div>
    </div>
  );
}
