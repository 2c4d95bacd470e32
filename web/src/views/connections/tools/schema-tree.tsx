import { describeType, type JsonSchema, kindOf, resolveSchema } from '../../../api/json-schema.js';
import { Badge } from '../../../ui/badge.js';

const MAX_DEPTH = 5;

/** The members of a schema as nested lists: name, type, whether it is required, what it is for. */
export function SchemaTree({
  schema,
  empty,
}: {
  readonly schema: JsonSchema | undefined;
  /** What to say of a schema without members. */
  readonly empty: string;
}) {
  if (schema === undefined || Object.keys(schema.properties ?? {}).length === 0) {
    return <p className="text-sm text-muted-foreground">{empty}</p>;
  }
  return <Members schema={schema} root={schema} depth={0} />;
}

function Members({
  schema,
  root,
  depth,
}: {
  readonly schema: JsonSchema;
  readonly root: JsonSchema;
  readonly depth: number;
}) {
  const required = new Set(schema.required);
  return (
    <ul className={`flex min-w-0 flex-col gap-2 text-sm ${depth > 0 ? 'border-l pl-3' : ''}`}>
      {Object.entries(schema.properties ?? {}).map(([name, property]) => {
        const member = resolveSchema(property, root);
        const inner = kindOf(member) === 'array' ? resolveSchema(member.items, root) : member;
        return (
          <li key={name} className="flex min-w-0 flex-col gap-1">
            <div className="flex flex-wrap items-center gap-x-2">
              <code className="font-mono text-[0.8125rem] font-semibold break-all">{name}</code>
              <span className="min-w-0 break-words text-muted-foreground">{describeType(member, root)}</span>
              {required.has(name) && <Badge tone="info">required</Badge>}
            </div>
            {member.description && <p className="break-words">{member.description}</p>}
            <Limits schema={member} />
            {kindOf(inner) === 'object' && depth < MAX_DEPTH && (
              <Members schema={inner} root={root} depth={depth + 1} />
            )}
          </li>
        );
      })}
    </ul>
  );
}

function Limits({ schema }: { readonly schema: JsonSchema }) {
  const { default: initial, minimum, maximum, minLength, maxLength, pattern } = schema;
  const words = [
    initial !== undefined && `default ${JSON.stringify(initial)}`,
    minimum !== undefined && `at least ${minimum}`,
    maximum !== undefined && `at most ${maximum}`,
    minLength !== undefined && `at least ${minLength} characters`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    pattern !== undefined && `matches ${pattern}`,
  ].filter((word) => word !== false);
  if (words.length === 0) return null;
  return <p className="break-words text-[0.8125rem] text-muted-foreground">{words.join(', ')}</p>;
}
