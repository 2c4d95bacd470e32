import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { type Choice, ChoiceForm } from './choice-form.js';

type ModelRecording = ToolOutput<'ORGANIZATION_GET'>['item']['model_recording'];

const CHOICES: readonly Choice<ModelRecording>[] = [
  {
    value: 'off',
    title: 'Nothing',
    meaning: 'Times, tokens, costs and errors of model calls are always on record. What models are sent is not.',
  },
  {
    value: 'redacted',
    title: 'The shape, without texts',
    meaning:
      'Which messages, tools and settings a model got and what it answered, with the size and a hash of each text in ' +
      'place of the text.',
  },
  {
    value: 'full',
    title: 'Everything',
    meaning:
      'Also the texts: instructions, conversations, text files, arguments and results of tools. Other files are left ' +
      'out. It is encrypted, and read by who can read messages and is allowed to look at model calls.',
  },
];

/** Chooses what is recorded of model calls. */
export function ModelRecordingForm({ stored }: { readonly stored: ModelRecording }) {
  return (
    <ChoiceForm
      title="Record of model calls"
      choices={CHOICES}
      stored={stored}
      toInput={(value) => ({ model_recording: value })}
      saveLabel="Save what is recorded"
      savedMessage="Saved. It counts for runs that begin now."
    />
  );
}
