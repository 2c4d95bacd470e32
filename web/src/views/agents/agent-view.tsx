import { Page } from '../../ui/page.js';

export function AgentView() {
  return <Page title="Agent">{null}</Page>;
}
