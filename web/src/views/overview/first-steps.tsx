import { Link } from '@tanstack/react-router';
import { Check } from 'lucide-react';
import { useList } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { cn } from '../../ui/class-names.js';
import { Section } from '../../ui/page.js';

const ONE = { limit: 1, count_limit: 1 };

/** What to do next on an empty installation: three steps. Gone when all are done. */
export function FirstSteps() {
  const { slug, may } = useOrganization();
  const connections = useList(
    'COLLECTION_CONNECTIONS_LIST',
    { ...ONE, where: { field: ['connection_type'], operator: 'in', value: ['HTTP', 'STDIO'] } },
    { isEnabled: may('COLLECTION_CONNECTIONS_LIST') },
  );
  const agents = useList('COLLECTION_VIRTUAL_MCP_LIST', ONE, { isEnabled: may('COLLECTION_VIRTUAL_MCP_LIST') });
  const threads = useList('COLLECTION_THREADS_LIST', ONE, { isEnabled: may('COLLECTION_THREADS_LIST') });
  const counts = [connections.totalCount, agents.totalCount, threads.totalCount];
  // Without a list there is no telling what is done already.
  if (counts.some((count) => count === undefined) || counts.every((count) => count !== 0)) return null;
  const [hasConnections, hasAgents, hasThreads] = counts.map((count) => count !== 0);
  return (
    <Section title="First steps">
      <ol className="grid grid-cols-1 gap-3 md:grid-cols-3">
        <Step
          number={1}
          isDone={hasConnections}
          title="Connect a server"
          text="An MCP server gives tools: your ticket system, a database, a search."
        >
          <Link to="/$org/connections" params={{ org: slug }} search={{ create: '1' } as never}>
            Connect a server
          </Link>
        </Step>
        <Step
          number={2}
          isDone={hasAgents}
          title="Make an agent"
          text="An agent has instructions, a model, and the tools that you choose for it."
        >
          <Link to="/$org/agents/$agentId" params={{ org: slug, agentId: 'new' }}>
            Make an agent
          </Link>
        </Step>
        <Step
          number={3}
          isDone={hasThreads}
          title="Talk to it"
          text="Send it a message and watch its tools work. The built-in model needs no key."
        >
          <Link to="/$org/playground" params={{ org: slug }}>
            Talk to it
          </Link>
        </Step>
      </ol>
    </Section>
  );
}

function Step({
  number,
  isDone = false,
  title,
  text,
  children,
}: {
  readonly number: number;
  readonly isDone: boolean | undefined;
  readonly title: string;
  readonly text: string;
  readonly children: React.ReactNode;
}) {
  return (
    <li className="flex items-start gap-3 rounded-md border p-3">
      <span
        aria-hidden
        className={cn(
          'flex size-7 shrink-0 items-center justify-center rounded-full text-sm font-semibold',
          isDone ? 'bg-success/12 text-success' : 'bg-accent text-accent-foreground',
        )}
      >
        {isDone ? <Check className="size-4" /> : number}
      </span>
      <div className="flex flex-col items-start gap-2">
        <h3 className="font-medium">
          {title}
          {isDone && <span className="text-sm font-normal text-success"> · done</span>}
        </h3>
        {!isDone && (
          <>
            <p className="text-sm text-muted-foreground">{text}</p>
            <Button asChild size="small">
              {children}
            </Button>
          </>
        )}
      </div>
    </li>
  );
}
