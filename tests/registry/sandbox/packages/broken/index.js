throw new Error("this package cannot be imported");
