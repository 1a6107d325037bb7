import './lib/dom.js';
