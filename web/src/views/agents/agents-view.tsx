import { Page } from '../../ui/page.js';

export function AgentsView() {
  return <Page title="Agents">{null}</Page>;
}
