import { rule } from '../../core/validation/rule.js';

const WORDS: readonly unknown[] = ['none', 'destructive', 'all'];
const MAX_TOOLS = 1000;
/** Text that `jsonb` can store: no NUL, no unpaired surrogate. */
const TOOL_NAME = /^[^\x00]{1,256}$/u;

/** An `ApprovalRule`: one of its words, or a list of tools. */
export function IsApprovalRule(): PropertyDecorator {
  return rule(
    'isApprovalRule',
    {
      anyOf: [
        { type: 'string', enum: [...WORDS] },
        {
          type: 'array',
          items: { type: 'string', minLength: 1, maxLength: 256 },
          maxItems: MAX_TOOLS,
          uniqueItems: true,
        },
      ],
    },
    isApprovalRule,
    `must be none, destructive, all, or a list of at most ${MAX_TOOLS} different names of tools`,
  );
}

function isApprovalRule(value: unknown): boolean {
  if (!Array.isArray(value)) return WORDS.includes(value);
  const isEachName = value.every((name) => typeof name === 'string' && TOOL_NAME.test(name));
  return isEachName && value.length <= MAX_TOOLS && new Set(value).size === value.length;
}
