// Elements are made from text nodes only: nothing of the data is ever parsed as HTML.
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "onclick") element.addEventListener("click", value);
    else if (name === "width" || name === "height") element.style[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const byId = (id) => document.getElementById(id);

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page opened from a file may not have the clipboard: select the text, so that one key copies it.
    const range = document.createRange();
    range.selectNodeContents(button.previousElementSibling);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    if (!document.execCommand("copy")) return;
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

const cellLink = (id) => h("button", { class: "link", type: "button", onclick: () => openCell(id) }, id);
