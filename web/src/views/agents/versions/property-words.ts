const WORDS: Readonly<Record<string, string>> = {
  title: 'Title',
  description: 'Description',
  instructions: 'Instructions',
  tier: 'Tier',
  max_steps: 'Steps of a run',
  approval_timeout: 'Time for an approval',
  tool_mode: 'Tools for the model',
  pinned_tools: 'Pinned tools',
  history: 'History',
  output_schema: 'Output schema',
  webhook_output: 'Output in webhooks',
  expose_run: 'Run as a tool',
  ask_timeout_s: 'Time for an answer',
  connections: 'Connections and tools',
};

/** What people call a property of an agent. */
export function wordOf(property: string): string {
  return WORDS[property] ?? property;
}
