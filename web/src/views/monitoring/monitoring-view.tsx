import { Page } from '../../ui/page.js';

export function MonitoringView() {
  return <Page title="Monitoring">{null}</Page>;
}
