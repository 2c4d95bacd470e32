import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { ToolOutput } from '../../../../../packages/client/src/api.js';
import { useOrganization } from '../../../session/organization.js';
import { Button } from '../../../ui/button.js';
import { CodeBlock, JsonBlock } from '../../../ui/code-block.js';
import { SelectField } from '../../../ui/field.js';
import { Section } from '../../../ui/page.js';
import type { Agent } from '../form/agent-draft.js';
import { type ClientSetting, type CredentialKind, nameInClients, settingsFor } from './client-settings.js';

const ROUTE = '/$org/agents/$agentId';

const KINDS = [
  { value: 'sign-in', label: 'Each person signs in' },
  { value: 'key', label: 'With an API key' },
] as const;

/** Ready-made settings for MCP clients, and what credential each needs. */
export function UseAgent({
  agent,
  tools,
}: {
  readonly agent: Agent;
  readonly tools: ToolOutput<'COLLECTION_VIRTUAL_MCP_GET'>['tools'];
}) {
  const { url, slug } = useOrganization();
  const { credential } = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  const kind: CredentialKind = credential === 'key' ? 'key' : 'sign-in';
  const address = `${url}/api/${slug}/mcp/gateway/${agent.id}`;
  const settings = settingsFor(kind, { address, name: nameInClients(agent.title) });
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Section title="Address">
        <p className="text-sm text-muted-foreground">
          MCP clients get {tools.length === 1 ? 'the tool' : `all ${tools.length} tools`} of this agent at one address.
          Calls through it are made by the client’s own model: the agent’s instructions and approvals count only in
          runs.
        </p>
        <CodeBlock label="MCP address of the agent" text={address} />
        <SelectField
          label="Who calls"
          className="max-w-sm"
          value={kind}
          options={KINDS}
          onChange={(value) =>
            void navigate({
              search: (current) => ({ ...current, credential: value === 'key' ? value : undefined }) as never,
              replace: true,
            })
          }
        />
        {kind === 'sign-in' ? <AboutSignIn agent={agent} /> : <AboutKey agent={agent} />}
      </Section>
      <div className="grid grid-cols-1 min-w-0 items-start gap-4 xl:grid-cols-2">
        {settings.map((setting) => (
          <Setting key={setting.client} setting={setting} />
        ))}
      </div>
    </div>
  );
}

function Setting({ setting: { client, where, text, note } }: { readonly setting: ClientSetting }) {
  return (
    <Section title={client}>
      <p className="text-sm break-words text-muted-foreground">{where}</p>
      <CodeBlock label={`Setting for ${client}`} text={text} />
      {note && <p className="text-sm text-muted-foreground">{note}</p>}
    </Section>
  );
}

function AboutSignIn({ agent }: { readonly agent: Agent }) {
  return (
    <p className="text-sm">
      The client opens a browser in which the person signs in and agrees. It needs nothing but the address, and calls
      tools with that person’s permissions: the person’s role needs the tools of “{agent.title}”. Owners and admins have
      all.
    </p>
  );
}

function AboutKey({ agent }: { readonly agent: Agent }) {
  const { org } = useParams({ from: '/$org' });
  const { may } = useOrganization();
  return (
    <div className="flex min-w-0 flex-col gap-2 text-sm">
      <p>The client sends a key that needs these permissions, or single tools instead of *:</p>
      <JsonBlock label="Permissions of the key" value={{ [agent.id]: ['*'] }} />
      {may('API_KEY_CREATE') && (
        <div>
          <Button asChild variant="secondary" size="small">
            <Link to="/$org/keys" params={{ org }}>
              Create a key
            </Link>
          </Button>
        </div>
      )}
    </div>
  );
}
