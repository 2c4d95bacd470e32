import {
  Bot,
  ChartLine,
  Gauge,
  KeyRound,
  ListTree,
  MessageSquare,
  MessagesSquare,
  Plug,
  Settings,
  Waypoints,
} from 'lucide-react';

/** The views, in the order of the navigation. `path` follows `/console/<organization>/`. */
export const VIEWS = [
  { path: 'overview', title: 'Overview', icon: Gauge },
  { path: 'playground', title: 'Playground', icon: MessageSquare },
  { path: 'threads', title: 'Threads', icon: MessagesSquare },
  { path: 'runs', title: 'Runs', icon: ListTree },
  { path: 'connections', title: 'Connections', icon: Plug },
  { path: 'agents', title: 'Agents', icon: Bot },
  { path: 'keys', title: 'Keys', icon: KeyRound },
  { path: 'access', title: 'Access', icon: Waypoints },
  { path: 'monitoring', title: 'Monitoring', icon: ChartLine },
  { path: 'settings', title: 'Settings', icon: Settings },
] as const;
