// The default theme of VitePress without its fonts, in the colours of the dashboard.

import theme from 'vitepress/theme-without-fonts';
import './style.css';

export default theme;
