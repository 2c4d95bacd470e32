import { Page } from '../../ui/page.js';

export function SettingsView() {
  return <Page title="Settings">{null}</Page>;
}
