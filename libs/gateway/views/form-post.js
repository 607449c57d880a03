// Posts the page's only form. The page works without this file: it has a button.

document.forms[0].submit();
