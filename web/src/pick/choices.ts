import type { ListItem, ListToolName } from '../../../packages/client/src/api.js';
import { allOf, type Condition, useList } from '../api/queries.js';
import { useOrganization } from '../session/organization.js';

/** Something that can be chosen. */
export interface Choice {
  readonly id: string;
  readonly label: string;
  readonly note?: string;
}

interface Source<Name extends ListToolName> {
  readonly tool: Name;
  /** The field that carries the id of a choice, and the one that is searched. */
  readonly idField: string;
  readonly textField: string;
  readonly where?: Condition;
  readonly toChoice: (item: ListItem<Name>) => Choice | undefined;
}

const source = <Name extends ListToolName>(definition: Source<Name>): Source<Name> => definition;

const SOURCES = {
  /** Connections to MCP servers, without agents. */
  connection: source({
    tool: 'COLLECTION_CONNECTIONS_LIST',
    idField: 'id',
    textField: 'title',
    where: { field: ['connection_type'], operator: 'in', value: ['HTTP', 'STDIO'] },
    toChoice: ({ id, title, connection_type: type }) => ({
      id,
      label: title,
      note: type === 'HTTP' ? 'HTTP' : 'program',
    }),
  }),
  agent: source({
    tool: 'COLLECTION_VIRTUAL_MCP_LIST',
    idField: 'id',
    textField: 'title',
    toChoice: ({ id, title }) => ({ id, label: title }),
  }),
  /** Whatever has tools: connections and agents. */
  resource: source({
    tool: 'COLLECTION_CONNECTIONS_LIST',
    idField: 'id',
    textField: 'title',
    toChoice: ({ id, title, connection_type: type }) => ({
      id,
      label: title,
      note: type === 'VIRTUAL' ? 'agent' : 'connection',
    }),
  }),
  key: source({
    tool: 'API_KEY_LIST',
    idField: 'id',
    textField: 'name',
    toChoice: ({ id, name, prefix }) => ({ id, label: name, note: `${prefix}…` }),
  }),
  /** Members of the organization, by the id of their account. */
  person: source({
    tool: 'MEMBER_LIST',
    idField: 'user_id',
    textField: 'email',
    where: { field: ['status'], operator: 'eq', value: 'active' },
    toChoice: ({ user_id: id, email, name }) => (id === null ? undefined : { id, label: email, note: name ?? '' }),
  }),
  thread: source({
    tool: 'COLLECTION_THREADS_LIST',
    idField: 'id',
    textField: 'title',
    toChoice: ({ id, title }) => ({ id, label: title }),
  }),
  run: source({
    tool: 'RUN_LIST',
    idField: 'id',
    textField: 'question',
    toChoice: ({ id, question }) => ({ id, label: question ?? id }),
  }),
  schedule: source({
    tool: 'SCHEDULE_LIST',
    idField: 'id',
    textField: 'title',
    toChoice: ({ id, title }) => ({ id, label: title }),
  }),
} as const;

export type ChoiceKind = keyof typeof SOURCES;

const FOUND = 20;

/** True if the caller can list what there is to choose from. */
export function useMayChoose(kind: ChoiceKind): boolean {
  return useOrganization().may(SOURCES[kind].tool);
}

/** The choices whose name contains the text. */
export function useChoices(kind: ChoiceKind, text: string, isEnabled: boolean) {
  const { where, textField } = source<never>(SOURCES[kind] as never);
  const contains: Condition | undefined =
    text.trim() === '' ? undefined : { field: [textField], operator: 'contains', value: text.trim() };
  return useSource(kind, allOf(where, contains), FOUND, isEnabled);
}

/** The choices with these ids, as far as they exist and the caller can list them. */
export function useChoicesById(kind: ChoiceKind, ids: readonly string[]): ReadonlyMap<string, Choice> {
  const may = useMayChoose(kind);
  const wanted = [...new Set(ids)].sort().slice(0, 100);
  const where: Condition = { field: [SOURCES[kind].idField], operator: 'in', value: wanted };
  const { choices } = useSource(kind, where, 100, may && wanted.length > 0);
  return new Map(choices.map((choice) => [choice.id, choice]));
}

/** Stands for a name that is being read: an id would look like the name, and then jump. */
export const UNREAD_NAME = '…';

/** The name of what has this id, or the id if the name cannot be read. */
export function useNameOf(kind: ChoiceKind, id: string | null): string {
  const may = useMayChoose(kind);
  const where: Condition = { field: [SOURCES[kind].idField], operator: 'eq', value: id ?? '' };
  const { choices, query } = useSource(kind, where, 1, may && id !== null);
  if (id === null) return '';
  // The choices of the id before stay until this one is read.
  const name = choices.find((choice) => choice.id === id)?.label;
  return name ?? (query.isLoading || query.isPlaceholderData ? UNREAD_NAME : id);
}

function useSource(kind: ChoiceKind, where: Condition | undefined, limit: number, isEnabled: boolean) {
  const { tool, toChoice } = SOURCES[kind];
  const { query, rows, totalCount } = useList(tool, { where, limit }, { isEnabled });
  const choices = rows.flatMap((row) => (toChoice as (item: unknown) => Choice | undefined)(row) ?? []);
  return { query, choices: isEnabled ? choices : [], totalCount };
}
