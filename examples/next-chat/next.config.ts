import type { NextConfig } from 'next';

// This folder is the project, also inside a repository that has a lock file of its own.
const config: NextConfig = { turbopack: { root: import.meta.dirname } };

export default config;
