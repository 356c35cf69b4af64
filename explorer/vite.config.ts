import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// `npx vite` serves the sources for development and passes everything else on to a server on this address.
const server = process.env.ORRERY_ENDPOINT ?? 'http://127.0.0.1:8081';

export default defineConfig({
  base: '/_explorer/',
  plugins: [react()],
  build: {
    target: 'es2022',
    // Inline scripts and data: fonts would need a weaker Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
  server: {
    proxy: { '^/(?!_explorer/)': { target: server } },
  },
});
