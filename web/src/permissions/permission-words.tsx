import { useChoicesById } from '../pick/choices.js';
import type { PermissionMap } from '../session/session.js';
import { ABILITY_GROUPS, unknownNames } from './abilities.js';
import { ANY, heldOf, resourcesOf, SELF, toolsOf } from './permission-map.js';

/** A map of permissions as sentences. @param subject what holds the permissions, such as "This key" */
export function PermissionWords({
  permissions,
  subject,
}: {
  readonly permissions: PermissionMap;
  readonly subject: string;
}) {
  const names = useChoicesById('resource', resourcesOf(permissions));
  const sentences = [
    ...toolSentences(permissions, (id) => {
      const found = names.get(id);
      return found === undefined ? id : `the ${found.note} “${found.label}”`;
    }),
    ...managementSentences(permissions),
  ];
  if (sentences.length === 0) return <p className="text-sm">{subject} holds no permission.</p>;
  return (
    <div className="text-sm">
      <p>{subject} can</p>
      <ul className="list-disc pl-5 break-words">
        {sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </div>
  );
}

function toolSentences(permissions: PermissionMap, nameOf: (id: string) => string): readonly string[] {
  const everywhere = toolsOf(permissions, ANY);
  return [
    ...(everywhere.length === 0 ? [] : [`call ${toolsInWords(everywhere)} of every connection and agent`]),
    ...resourcesOf(permissions)
      .filter((id) => toolsOf(permissions, id).length > 0)
      .map((id) => `call ${toolsInWords(toolsOf(permissions, id))} of ${nameOf(id)}`),
  ];
}

function toolsInWords(tools: readonly string[]): string {
  if (tools.includes(ANY)) return 'all tools';
  return tools.length === 1 ? `the tool ${tools[0]}` : `the ${tools.length} tools ${tools.join(', ')}`;
}

function managementSentences(permissions: PermissionMap): readonly string[] {
  if (toolsOf(permissions, SELF).includes(ANY)) return ['manage everything in this organization'];
  const abilities = ABILITY_GROUPS.flatMap((group) => group.abilities);
  return [
    ...abilities.flatMap(({ words, names }) => {
      const held = heldOf(permissions, SELF, names);
      if (held === 'none') return [];
      if (held === 'all') return [words];
      return [`in part: ${words} (${names.filter((name) => toolsOf(permissions, SELF).includes(name)).join(', ')})`];
    }),
    ...unknownNames(permissions).map((name) => `use ${name}`),
  ];
}
