import { type Choice, ChoiceForm } from './choice-form.js';

type RunAccess = 'members' | 'granted';

const CHOICES: readonly Choice<RunAccess>[] = [
  {
    value: 'members',
    title: 'Every valid credential',
    meaning:
      'Every member and every API key can send messages to every agent and read the answers. An agent calls its ' +
      'tools itself, so a key without a single permission can still have an agent call tools.',
  },
  {
    value: 'granted',
    title: 'Only who was granted the agent',
    meaning:
      'Sending messages, reading answers and cancelling need a permission that names the agent, such as one of its ' +
      'tools.',
  },
];

/** Chooses who can run agents. */
export function RunAccessForm({ stored }: { readonly stored: RunAccess }) {
  return (
    <ChoiceForm
      title="Who can run agents"
      choices={CHOICES}
      stored={stored}
      toInput={(value) => ({ run_access: value })}
      saveLabel="Save who can run agents"
      savedMessage="Saved. It counts within a second."
    />
  );
}
