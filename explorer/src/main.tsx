import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app';
import './theme';
import './styles/tokens.css';
import './styles/base.css';
import './styles/parts.css';
import './styles/shell.css';

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
