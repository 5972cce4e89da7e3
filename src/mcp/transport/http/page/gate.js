"use strict";
const at = (id) => document.getElementById(id);
const gate = (fault) => {
  sessionStorage.removeItem("token");
  at("fault").textContent = fault;
  at("gate").hidden = false;
  at("token").focus();
};
const show = async (token) => {
  const reply = await fetch("docs", {headers: {Authorization: `Bearer ${token}`, Accept: "text/html"}, cache: "no-store"});
  if (reply.status === 401) return gate("the token is not known");
  if (!reply.ok) return gate(`the server answers with ${reply.status}`);
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  document.head.replaceChildren(...page.head.childNodes);
  document.body.replaceChildren(...page.body.childNodes);
  if (location.hash) at(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
};
const enter = (token) => {
  // A header allows no other characters, and tokens have none.
  if (!/^[\x21-\x7e]+$/.test(token)) return gate("that is no token");
  sessionStorage.setItem("token", token);
  show(token).catch((error) => gate(`the server does not answer: ${error.message}`));
};
at("gate").addEventListener("submit", (event) => {
  event.preventDefault();
  enter(at("token").value.trim());
});
const kept = sessionStorage.getItem("token");
if (kept) enter(kept); else gate("");
